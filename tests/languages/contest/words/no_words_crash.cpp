#include <algorithm>
#include <cctype>
#include <iostream>
#include <map>
#include <string>
#include <vector>
using namespace std;

int main() {
    map<string, int> counts;
    string word;
    int c;
    do {
        c = cin.get();
        if (c != EOF && isalpha(c)) {
            word += (char)tolower(c);
        } else if (!word.empty()) {
            counts[word]++;
            word.clear();
        }
    } while (c != EOF);
    vector<pair<int, string>> order;
    for (auto &[w, count] : counts) order.push_back({-count, w});
    sort(order.begin(), order.end());
    if (order.at(0).second.empty()) cout << "none\n";
    for (size_t i = 0; i < order.size() && i < 5; i++)
        cout << order[i].second << ' ' << -order[i].first << '\n';
}
