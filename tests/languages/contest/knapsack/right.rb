n, capacity = gets.split.map(&:to_i)
best = [0] * (capacity + 1)
n.times do
  weight, value = gets.split.map(&:to_i)
  capacity.downto(weight) do |room|
    best[room] = [best[room], best[room - weight] + value].max
  end
end
puts best[capacity]
