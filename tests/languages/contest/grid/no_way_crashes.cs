using System;
using System.Collections.Generic;

static class Program
{
    static void Main()
    {
        var size = Console.ReadLine().Split(' ');
        int height = int.Parse(size[0]), width = int.Parse(size[1]), answer = -1;
        var rows = new string[height];
        var steps = new int[height, width];
        var queue = new Queue<(int, int)>();
        for (int y = 0; y < height; y++)
        {
            rows[y] = Console.ReadLine();
            for (int x = 0; x < width; x++)
            {
                steps[y, x] = rows[y][x] == 'S' ? 0 : -1;
                if (rows[y][x] == 'S') queue.Enqueue((y, x));
            }
        }
        while (queue.Count > 0 && answer < 0)
        {
            var (y, x) = queue.Dequeue();
            if (rows[y][x] == 'E') answer = steps[y, x];
            foreach (var d in new[] { new[] { -1, 0 }, new[] { 1, 0 }, new[] { 0, -1 }, new[] { 0, 1 } })
            {
                int ny = y + d[0], nx = x + d[1];
                if (ny < 0 || ny >= height || nx < 0 || nx >= width) continue;
                if (rows[ny][nx] == '#' || steps[ny, nx] >= 0) continue;
                steps[ny, nx] = steps[y, x] + 1;
                queue.Enqueue((ny, nx));
            }
        }
        if (answer < 0) throw new InvalidOperationException("there is no way");
        Console.WriteLine(answer);
    }
}
