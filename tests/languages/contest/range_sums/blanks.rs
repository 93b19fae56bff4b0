use std::io::{stdin, Read};

fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).unwrap();
    let numbers: Vec<i64> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
    let (n, q) = (numbers[0] as usize, numbers[1] as usize);
    let mut sums = vec![0i64; n + 1];
    for i in 1..=n {
        sums[i] = sums[i - 1] + numbers[1 + i];
    }
    for i in 0..q {
        let (left, right) = (numbers[2 + n + 2 * i] as usize, numbers[3 + n + 2 * i] as usize);
        print!("{} \r\n", sums[right] - sums[left - 1]);
    }
}
