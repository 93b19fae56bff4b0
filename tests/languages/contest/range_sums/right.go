package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	var n, q int
	fmt.Fscan(in, &n, &q)
	sums := make([]int, n+1)
	for i := 1; i <= n; i++ {
		fmt.Fscan(in, &sums[i])
		sums[i] += sums[i-1]
	}
	for ; q > 0; q-- {
		var left, right int
		fmt.Fscan(in, &left, &right)
		fmt.Fprintf(out, "%d\n", sums[right]-sums[left-1])
	}
}
