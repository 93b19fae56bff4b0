text = $stdin.read.downcase
counts = text.scan(/[a-zA-Z]+/).tally
order = counts.keys.sort_by { |word| [-counts[word], word] }
puts 'none' if order.empty?
order.first(5).each { |word| puts "#{word} #{counts[word]}" }
