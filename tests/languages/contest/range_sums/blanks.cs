using System;
using System.Linq;
using System.Text;

static class Program
{
    static void Main()
    {
        var numbers = Console.In.ReadToEnd()
            .Split((char[])null, StringSplitOptions.RemoveEmptyEntries).Select(int.Parse).ToArray();
        int n = numbers[0], q = numbers[1];
        var sums = new long[n + 1];
        for (int i = 1; i <= n; i++) sums[i] = sums[i - 1] + numbers[1 + i];
        var text = new StringBuilder();
        for (int i = 0; i < q; i++)
        {
            int left = numbers[2 + n + 2 * i], right = numbers[3 + n + 2 * i];
            text.Append(sums[right] - sums[left - 1]).Append(" \r\n");
        }
        Console.Write(text);
    }
}
