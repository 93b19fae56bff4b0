numbers = $stdin.read.split.map(&:to_i)
n, q = numbers
sums = [0]
numbers[2, n].each { |value| sums << sums.last + value }
q.times do |i|
  left, right = numbers[2 + n + 2 * i, 2]
  print "#{sums[right] - sums[left - 1]} \r\n"
end
