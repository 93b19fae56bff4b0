height, width = gets.split.map(&:to_i)
rows = Array.new(height) { gets.chomp }
y = rows.index { |row| row.include?('S') }
queue = [[y, rows[y].index('S')]]
steps = { queue[0] => 0 }
answer = nil
until queue.empty? || answer
  y, x = queue.shift
  answer = steps[[y, x]] if rows[y][x] == 'E'
  [[y - 1, x], [y + 1, x], [y, x - 1], [y, x + 1]].each do |place|
    ny, nx = place
    next if ny.negative? || ny >= height || nx.negative? || nx >= width
    next if rows[ny][nx] == '#' || steps.key?(place)

    steps[place] = steps[[y, x]] + 1
    queue << place
  end
end
answer = -2 if answer.nil?
puts answer + 1
