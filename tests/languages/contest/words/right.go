package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

func main() {
	data, _ := io.ReadAll(os.Stdin)
	text := strings.ToLower(string(data))
	counts := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) {
		counts[word]++
	}
	order := []string{}
	for word := range counts {
		order = append(order, word)
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return counts[a] > counts[b] || counts[a] == counts[b] && a < b
	})
	if len(order) == 0 {
		fmt.Println("none")
	}
	for i := 0; i < len(order) && i < 5; i++ {
		fmt.Println(order[i], counts[order[i]])
	}
}
