"""Rust."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: 'fn main() { println!("6"); }',
    Kind.COMPILE_ERROR: 'fn main() { let x: i32 = "a"; }',
    Kind.EXIT_CODE: "fn main() { std::process::exit(3); }",
    Kind.CPU: "fn main() { loop {} }",
    Kind.SLEEP: "fn main() { std::thread::sleep(std::time::Duration::from_secs(60)); }",
    Kind.MEMORY: """
fn main() {
    let mut kept = Vec::new();
    loop { kept.push(vec![1u8; 1 << 22]); }
}
""",
    Kind.FLOOD: 'fn main() { let line = "x".repeat(1000); loop { println!("{}", line); } }',
    Kind.BIG_STDIN: """
use std::io::Read;
fn main() {
    let mut all = String::new();
    std::io::stdin().read_to_string(&mut all).unwrap();
    println!("{} {}", all.matches('\\n').count(), all.matches('x').count());
}
""",
    Kind.UNICODE: """
fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    println!("→{}✓", line.trim_end());
}
""",
    Kind.THREADS: """
fn main() {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| (0..1000).sum::<i32>())).collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap())
        .filter(|&sum| sum == 499500).count());
}
""",
    # Through a volatile, or the compiler makes a loop of it.
    Kind.RECURSION: """
fn depth(n: i32) -> i32 {
    if n == 0 { return 0; }
    let below = depth(n - 1);
    1 + unsafe { std::ptr::read_volatile(&below) }
}
fn main() { println!("{}", depth(20000)); }
""",
    Kind.ENDLESS_RECURSION: """
fn f(n: i32) -> i32 {
    let below = f(n + 1);
    1 + unsafe { std::ptr::read_volatile(&below) }
}
fn main() { println!("{}", f(0)); }
""",
    Kind.FORBIDDEN: """
fn main() {
    let mut held = String::new();
    for path in ["/etc/shadow", "/proc/1/environ"] {
        if let Ok(content) = std::fs::read_to_string(path) { held += &content; held += "!"; }
    }
    println!("{}", if held.is_empty() { "refused" } else { &held });
}
""",
}
