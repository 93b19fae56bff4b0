package main

import "fmt"

func main() {
	var n, capacity int
	fmt.Scan(&n, &capacity)
	for capacity == 0 {
	}
	best := make([]int, capacity+1)
	for ; n > 0; n-- {
		var weight, value int
		fmt.Scan(&weight, &value)
		for room := capacity; room >= weight; room-- {
			if with := best[room-weight] + value; with > best[room] {
				best[room] = with
			}
		}
	}
	fmt.Println(best[capacity])
}
