use std::io::{stdin, Read};

fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).unwrap();
    let numbers: Vec<usize> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
    let capacity = numbers[1];
    while capacity == 0 {}
    let mut best = vec![0usize; capacity + 1];
    for thing in numbers[2..].chunks(2) {
        let (weight, value) = (thing[0], thing[1]);
        for room in (weight..=capacity).rev() {
            best[room] = best[room].max(best[room - weight] + value);
        }
    }
    println!("{}", best[capacity]);
}
