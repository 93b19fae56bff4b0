#include <iostream>
#include <vector>
using namespace std;

int main() {
    int n, q;
    cin >> n >> q;
    vector<long long> sums(n + 1);
    for (int i = 1; i <= n; i++) {
        cin >> sums[i];
        sums[i] += sums[i - 1];
    }
    while (q--) {
        int left, right;
        cin >> left >> right;
        cout << sums[right] - sums[left - 1] << " \r\n";
    }
}
