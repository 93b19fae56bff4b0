#include <stdio.h>

static long long best[100001];

int main(void) {
    int n, capacity;
    if (scanf("%d %d", &n, &capacity) != 2) return 1;
    while (n--) {
        int weight, value;
        if (scanf("%d %d", &weight, &value) != 2) return 1;
        for (int room = weight; room <= capacity; room++) {
            long long with = best[room - weight] + value;
            if (with > best[room]) best[room] = with;
        }
    }
    printf("%lld\n", best[capacity]);
}
