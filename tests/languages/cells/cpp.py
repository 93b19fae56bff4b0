"""C++, as it is written in all of the standards that there are recipes for."""

from tests.languages.cells.base import Cells, Kind

CELLS: Cells = {
    Kind.WRONG_ANSWER: '#include <iostream>\nint main() { std::cout << 6 << "\\n"; }',
    Kind.COMPILE_ERROR: "int main() { std::cout << 1; }",
    Kind.EXIT_CODE: "#include <cstdlib>\nint main() { std::exit(3); }",
    Kind.CPU: "int main() { for (volatile unsigned n = 0;;) n = n + 1; }",
    Kind.SLEEP: """
#include <chrono>
#include <thread>
int main() { std::this_thread::sleep_for(std::chrono::seconds(60)); }
""",
    Kind.MEMORY: """
#include <vector>
int main() { for (std::vector<std::vector<char>> kept;;) kept.emplace_back(1 << 22, 'x'); }
""",
    Kind.FLOOD: """
#include <iostream>
#include <string>
int main() { for (std::string line(1000, 'x');;) std::cout << line << "\\n"; }
""",
    Kind.BIG_STDIN: """
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
int main() {
    std::istreambuf_iterator<char> first(std::cin), last;
    std::string all(first, last);
    std::cout << std::count(all.begin(), all.end(), '\\n') << " "
              << std::count(all.begin(), all.end(), 'x') << "\\n";
}
""",
    Kind.UNICODE: """
#include <iostream>
#include <string>
int main() {
    std::string line;
    std::getline(std::cin, line);
    std::cout << "→" << line << "✓\\n";
}
""",
    Kind.THREADS: """
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>
int main() {
    std::atomic<int> done(0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&done] {
            volatile long sum = 0;
            for (int i = 0; i < 1000; i++) sum = sum + i;
            done++;
        });
    for (auto &thread : threads) thread.join();
    std::cout << done << "\\n";
}
""",
    # Through a volatile, or the compiler makes a loop of it.
    Kind.RECURSION: """
#include <iostream>
int depth(int n) {
    if (n == 0) return 0;
    volatile int below = depth(n - 1);
    return below + 1;
}
int main() { std::cout << depth(20000) << "\\n"; }
""",
    Kind.ENDLESS_RECURSION: """
#include <iostream>
int f(int n) {
    volatile int below = f(n + 1);
    return below + 1;
}
int main() { std::cout << f(0) << "\\n"; }
""",
    Kind.FORBIDDEN: """
#include <fstream>
#include <iostream>
int main() {
    bool refused = true;
    for (auto path : {"/etc/shadow", "/proc/1/environ"}) {
        std::ifstream file(path);
        if (!file) continue;
        refused = false;
        std::cout << file.rdbuf();
    }
    if (refused) std::cout << "refused\\n";
}
""",
}
