package main

import "fmt"

type place struct{ y, x int }

func main() {
	var height, width int
	fmt.Scan(&height, &width)
	rows := make([]string, height)
	steps := map[place]int{}
	queue := []place{}
	for y := range rows {
		fmt.Scan(&rows[y])
		for x, cell := range rows[y] {
			if cell == 'S' {
				steps[place{y, x}] = 0
				queue = append(queue, place{y, x})
			}
		}
	}
	answer := -1
	for head := 0; head < len(queue) && answer < 0; head++ {
		at := queue[head]
		if rows[at.y][at.x] == 'E' {
			answer = steps[at]
		}
		for _, d := range []place{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
			to := place{at.y + d.y, at.x + d.x}
			if to.y < 0 || to.y >= height || to.x < 0 || to.x >= width {
				continue
			}
			if _, seen := steps[to]; seen || rows[to.y][to.x] == '#' {
				continue
			}
			steps[to] = steps[at] + 1
			queue = append(queue, to)
		}
	}
	if answer < 0 {
		answer = -2
	}
	fmt.Println(answer + 1)
}
