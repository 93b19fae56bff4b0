using System;
using System.Linq;

static class Program
{
    static void Main()
    {
        var numbers = Console.In.ReadToEnd()
            .Split((char[])null, StringSplitOptions.RemoveEmptyEntries).Skip(1).Select(int.Parse);
        var sorted = numbers.OrderByDescending(number => number);
        Console.WriteLine(string.Join("\n", sorted));
    }
}
