using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

/* 64 tasks of the thread pool, and N MB. */
static class Tasks
{
    static long Count(int upTo)
    {
        long sum = 0;
        for (int i = 0; i <= upTo; i++) sum += i;
        return sum;
    }

    static void Main()
    {
        int megabytes = int.Parse(Console.ReadLine());
        var tasks = Enumerable.Range(0, 64).Select(i => Task.Run(() => Count(10000))).ToArray();
        Task.WaitAll(tasks);
        var held = new List<byte[]>();
        for (int i = 0; i < megabytes; i++)
        {
            var piece = new byte[1 << 20];
            for (int at = 0; at < piece.Length; at += 4096) piece[at] = 1;
            held.Add(piece);
        }
        bool right = tasks.All(t => t.Result == 50005000) && held.Sum(p => (long)p[0]) == megabytes;
        Console.WriteLine(right ? "True" : "False");
    }
}
