// 16 threads that recurse, and N MB.
use std::io::stdin;
use std::sync::{Arc, Barrier};
use std::thread;

fn deep(n: u32) -> u32 {
    let here = [n; 16];
    let seen = unsafe { std::ptr::read_volatile(&here[3]) };
    if seen == 0 { 0 } else { 1 + deep(seen - 1) }
}

fn main() {
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
    let megabytes: usize = line.trim().parse().unwrap();
    let barrier = Arc::new(Barrier::new(16));
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let barrier = barrier.clone();
            thread::spawn(move || {
                barrier.wait();
                deep(5_000)
            })
        })
        .collect();
    let depths: u32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let held: Vec<Vec<u8>> = (0..megabytes).map(|_| vec![1u8; 1 << 20]).collect();
    let sum: usize = held.iter().map(|piece| piece[7] as usize).sum();
    println!("{}", if depths == 16 * 5_000 && sum == megabytes { "True" } else { "False" });
}
