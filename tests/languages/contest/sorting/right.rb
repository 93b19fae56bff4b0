numbers = $stdin.read.split.map(&:to_i).drop(1)
numbers.sort!
puts numbers
