use std::collections::VecDeque;
use std::io::{stdin, Read};

fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).unwrap();
    let mut words = text.split_whitespace();
    let height: i32 = words.next().unwrap().parse().unwrap();
    let width: i32 = words.next().unwrap().parse().unwrap();
    let rows: Vec<&[u8]> = words.map(|row| row.as_bytes()).collect();
    let mut steps = vec![vec![-1i32; width as usize]; height as usize];
    let mut queue = VecDeque::new();
    for y in 0..height {
        for x in 0..width {
            if rows[y as usize][x as usize] == b'S' {
                steps[y as usize][x as usize] = 0;
                queue.push_back((y, x));
            }
        }
    }
    let mut found: Option<i32> = None;
    while let Some((y, x)) = queue.pop_front() {
        let here = steps[y as usize][x as usize];
        if rows[y as usize][x as usize] == b'E' {
            found = Some(here);
            break;
        }
        for (ny, nx) in [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)] {
            if ny < 0 || ny >= height || nx < 0 || nx >= width {
                continue;
            }
            let (cell, seen) = (rows[ny as usize][nx as usize], &mut steps[ny as usize][nx as usize]);
            if cell != b'#' && *seen < 0 {
                *seen = here + 1;
                queue.push_back((ny, nx));
            }
        }
    }
    let answer = found.unwrap();
    println!("{}", answer);
}
