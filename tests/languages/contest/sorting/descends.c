#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int numbers[100000];

static int order(const void *one, const void *other) {
    int a = *(const int *)one, b = *(const int *)other;
    return (a < b) - (a > b);
}

int main(void) {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    for (int i = 0; i < n; i++)
        if (scanf("%d", &numbers[i]) != 1) return 1;
    qsort(numbers, n, sizeof *numbers, order);
    for (int i = 0; i < n; i++) printf("%d\n", numbers[i]);
}
