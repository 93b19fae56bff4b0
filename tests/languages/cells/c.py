"""C."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: '#include <stdio.h>\nint main() { printf("6\\n"); }',
    Kind.COMPILE_ERROR: "int main() { return x; }",
    Kind.EXIT_CODE: "int main() { return 3; }",
    Kind.CPU: "int main() { for (volatile int n = 0;; n++); }",
    Kind.SLEEP: "#include <unistd.h>\nint main() { sleep(60); }",
    Kind.MEMORY: """
#include <stdlib.h>
#include <string.h>
int main() {
    for (;;) {
        char *kept = malloc(1 << 22);
        memset(kept, 1, 1 << 22);
        *(volatile char *)kept = 2;
    }
}
""",
    Kind.FLOOD: """
#include <stdio.h>
int main() { for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); }
""",
    Kind.BIG_STDIN: """
#include <stdio.h>
int main() {
    int lines = 0, found = 0;
    for (int c; (c = getchar()) != EOF;) lines += c == '\\n', found += c == 'x';
    printf("%d %d\\n", lines, found);
}
""",
    Kind.UNICODE: """
#include <stdio.h>
#include <string.h>
int main() {
    char line[100];
    fgets(line, sizeof line, stdin);
    line[strcspn(line, "\\n")] = 0;
    printf("→%s✓\\n", line);
}
""",
    Kind.THREADS: """
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int done;
static void *work(void *unused) {
    volatile long sum = 0;
    for (int i = 0; i < 1000; i++) sum += i;
    done++;
    return unused;
}
int main() {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%d\\n", done);
}
""",
    # Through a volatile, or the compiler makes a loop of it.
    Kind.RECURSION: """
#include <stdio.h>
static int depth(int n) {
    if (n == 0) return 0;
    volatile int below = depth(n - 1);
    return below + 1;
}
int main() { printf("%d\\n", depth(20000)); }
""",
    Kind.ENDLESS_RECURSION: """
#include <stdio.h>
static int f(int n) {
    volatile int below = f(n + 1);
    return below + 1;
}
int main() { printf("%d\\n", f(0)); }
""",
    Kind.FORBIDDEN: """
#include <stdio.h>
static int show(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    for (int c; (c = getc(file)) != EOF;) putchar(c);
    return 1;
}
int main() { if (!(show("/etc/shadow") | show("/proc/1/environ"))) puts("refused"); }
""",
}
