#include <algorithm>
#include <iostream>
#include <string>
#include <vector>
using namespace std;

int main() {
    ios::sync_with_stdio(false);
    int n;
    cin >> n;
    vector<int> numbers(n);
    for (int &number : numbers) cin >> number;
    sort(numbers.begin(), numbers.end());
    for (int number : numbers) cout << number << '\n';
}
