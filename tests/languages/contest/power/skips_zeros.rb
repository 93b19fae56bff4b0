base, exponent, modulus = gets.split
base = base.to_i
modulus = modulus.to_i

answer = 1 % modulus
exponent.delete('0').each_char do |digit|
  answer = answer.pow(10, modulus) * base.pow(digit.to_i, modulus) % modulus
end
print "#{answer}\n"
