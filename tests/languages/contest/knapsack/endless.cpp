#include <algorithm>
#include <iostream>
#include <vector>
using namespace std;

int main() {
    int n, capacity;
    cin >> n >> capacity;
    volatile int room = capacity;
    while (room == 0) continue;
    vector<long long> best(capacity + 1);
    while (n--) {
        int weight, value;
        cin >> weight >> value;
        for (int room = capacity; room >= weight; room--)
            best[room] = max(best[room], best[room - weight] + value);
    }
    cout << best[capacity] << endl;
}
