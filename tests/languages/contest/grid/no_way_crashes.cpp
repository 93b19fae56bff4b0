#include <iostream>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>
using namespace std;

int main() {
    int height, width, answer = -1;
    cin >> height >> width;
    vector<string> rows(height);
    vector<vector<int>> steps(height, vector<int>(width, -1));
    queue<pair<int, int>> places;
    for (int y = 0; y < height; y++) {
        cin >> rows[y];
        size_t x = rows[y].find('S');
        if (x != string::npos) steps[y][x] = 0, places.push({y, x});
    }
    while (!places.empty() && answer < 0) {
        auto [y, x] = places.front();
        places.pop();
        if (rows[y][x] == 'E') answer = steps[y][x];
        for (auto [dy, dx] : {pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
            int ny = y + dy, nx = x + dx;
            if (ny < 0 || ny >= height || nx < 0 || nx >= width) continue;
            if (rows[ny][nx] == '#' || steps[ny][nx] >= 0) continue;
            steps[ny][nx] = steps[y][x] + 1;
            places.push({ny, nx});
        }
    }
    if (answer < 0) throw runtime_error("there is no way");
    cout << answer << endl;
}
