package main

import "fmt"

var modulus int64

func power(number int64, times rune) int64 {
	result := 1 % modulus
	for ; times > 0; times-- {
		result = result * number % modulus
	}
	return result
}

func main() {
	var base int64
	var exponent string
	fmt.Scan(&base, &exponent, &modulus)
	base %= modulus
	answer := 1 % modulus
	for _, digit := range exponent {
		answer = power(answer, 10) * power(base, digit-'0') % modulus
	}
	fmt.Printf("%d \r\n\n", answer)
}
