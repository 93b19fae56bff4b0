using System;
using System.Linq;

static class Program
{
    static void Main()
    {
        var size = Console.ReadLine().Split(' ').Select(int.Parse).ToArray();
        int n = size[0], capacity = size[1];
        var best = new long[capacity + 1];
        for (int i = 0; i < n; i++)
        {
            var thing = Console.ReadLine().Split(' ').Select(int.Parse).ToArray();
            for (int room = thing[0]; room <= capacity; room++)
                best[room] = Math.Max(best[room], best[room - thing[0]] + thing[1]);
        }
        Console.WriteLine(best[capacity]);
    }
}
