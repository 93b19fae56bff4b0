#include <stdio.h>

static long long sums[100001];

int main(void) {
    int n, q;
    if (scanf("%d %d", &n, &q) != 2) return 1;
    for (int i = 1; i <= n; i++) {
        long long value;
        if (scanf("%lld", &value) != 1) return 1;
        sums[i] = sums[i - 1] + value;
    }
    while (q--) {
        int left, right;
        if (scanf("%d %d", &left, &right) != 2) return 1;
        printf("%lld\n", sums[right] - sums[left - 1]);
    }
}
