// 1,000 goroutines that live at once, and N MB.
package main

import (
	"fmt"
	"sync"
)

func main() {
	var megabytes int
	fmt.Scan(&megabytes)
	var started, done sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 1000; i++ {
		started.Add(1)
		done.Add(1)
		go func(mine int) {
			defer done.Done()
			started.Done()
			started.Wait()
			lock.Lock()
			sum += mine
			lock.Unlock()
		}(i)
	}
	done.Wait()
	held := make([][]byte, 0, megabytes)
	for i := 0; i < megabytes; i++ {
		piece := make([]byte, 1<<20)
		for j := range piece {
			piece[j] = 1
		}
		held = append(held, piece)
	}
	total := 0
	for _, piece := range held {
		total += int(piece[7])
	}
	if sum == 999*500 && total == megabytes {
		fmt.Println("True")
	}
}
