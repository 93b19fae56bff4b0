use std::collections::HashMap;
use std::io::{stdin, Read};

fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).unwrap();
    let text = text.to_ascii_lowercase();
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for word in text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
        *counts.entry(word).or_insert(0) += 1;
    }
    let mut order: Vec<(i64, &str)> = counts.iter().map(|(word, count)| (-count, *word)).collect();
    order.sort();
    if order.is_empty() {
        println!("none");
    }
    for (count, word) in order.iter().take(5) {
        println!("{} {}", word, -count);
    }
}
