#include <stdio.h>
#include <stdlib.h>

static char rows[1000][1002];
static int steps[1000][1000], queue[1000000];

int main(void) {
    int height, width, head = 0, tail = 0, answer = -1;
    if (scanf("%d %d", &height, &width) != 2) return 1;
    for (int y = 0; y < height; y++) {
        if (scanf("%1001s", rows[y]) != 1) return 1;
        for (int x = 0; x < width; x++) {
            steps[y][x] = -1;
            if (rows[y][x] == 'S') steps[y][x] = 0, queue[tail++] = y * width + x;
        }
    }
    while (head < tail && answer < 0) {
        int y = queue[head] / width, x = queue[head++] % width;
        if (rows[y][x] == 'E') answer = steps[y][x];
        const int dy[] = {-1, 1, 0, 0}, dx[] = {0, 0, -1, 1};
        for (int d = 0; d < 4; d++) {
            int ny = y + dy[d], nx = x + dx[d];
            if (ny < 0 || ny >= height || nx < 0 || nx >= width) continue;
            if (rows[ny][nx] == '#' || steps[ny][nx] >= 0) continue;
            steps[ny][nx] = steps[y][x] + 1;
            queue[tail++] = ny * width + nx;
        }
    }
    if (answer < 0) abort();
    printf("%d\n", answer);
}
