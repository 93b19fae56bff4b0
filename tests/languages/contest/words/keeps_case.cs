using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;

static class Program
{
    static void Main()
    {
        var text = Console.In.ReadToEnd();
        var counts = new Dictionary<string, int>();
        foreach (Match match in Regex.Matches(text, "[a-zA-Z]+"))
        {
            counts.TryGetValue(match.Value, out int count);
            counts[match.Value] = count + 1;
        }
        var order = counts.Keys.OrderBy(word => -counts[word])
            .ThenBy(word => word, StringComparer.Ordinal).ToList();
        if (order.Count == 0) Console.WriteLine("none");
        foreach (var word in order.Take(5)) Console.WriteLine(word + " " + counts[word]);
    }
}
