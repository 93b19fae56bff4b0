numbers = $stdin.read.split.map(&:to_i).drop(1)
numbers.sort! { |a, b| b <=> a }
puts numbers
