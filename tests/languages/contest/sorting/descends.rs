use std::io::{stdin, stdout, Read, Write};

fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).unwrap();
    let words = text.split_whitespace().skip(1);
    let mut numbers: Vec<i64> = words.map(|x| x.parse().unwrap()).collect();
    numbers.sort_by(|a, b| b.cmp(a));
    let lines: Vec<String> = numbers.iter().map(|number| format!("{}\n", number)).collect();
    stdout().write_all(lines.concat().as_bytes()).unwrap();
}
