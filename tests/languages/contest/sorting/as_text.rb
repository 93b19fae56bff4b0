numbers = $stdin.read.split.map(&:to_i).drop(1)
numbers.sort_by!(&:to_s)
puts numbers
