use std::io::stdin;

fn power(number: u64, times: u8, modulus: u64) -> u64 {
    (0..times).fold(1 % modulus, |result, _| result * number % modulus)
}

fn main() {
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let modulus: u64 = words[2].parse().unwrap();
    let base = words[0].parse::<u64>().unwrap() % modulus;
    let mut answer = 1 % modulus;
    for digit in words[1].bytes() {
        answer = power(answer, 10, modulus) * power(base, digit - b'0', modulus) % modulus;
    }
    print!("{} \r\n\n", answer);
}
