"""Answers that are called, one set per language: the same functions everywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answers:
    """What models write for the same problems.

    Attributes:
        two_sum: Prints while it looks, and raises where there is no pair.
        mixed: `mixed(big, ratio, flag, text, rows, head, root)` gives a list of big + 1, ratio / 3,
            not flag, text + "!", the rows in reverse, the head's and the root's own value, and
            then both nodes, where the language has a type for such a list. Nodes are of the
            language's own definition, which the answer has in a comment.
        in_place: `rotate(nums)` moves the last item to the front, and returns nothing.
        broken: Does not compile, and its error is in line 3.
        broken_says: What the compiler says then.
        hostile: `twoSum` writes records of its own to the value channel: a right answer twice.
    """

    two_sum: str
    mixed: str
    in_place: str
    broken: str
    broken_says: str
    hostile: str = ""


CPP = Answers(
    two_sum="""\
#define rep(i, n) for (int i = 0; i < (n); i++)
class Solution {
    bool twoSum(int a) { return a; }
public:
    vector<int> twoSum(vector<int>& nums, int target) {
        cout << "looking" << endl;
        unordered_map<int, int> at;
        rep(i, (int)nums.size()) {
            if (at.count(target - nums[i])) return {at[target - nums[i]], i};
            at[nums[i]] = i;
        }
        throw runtime_error("no pair");
    }
};
int main() { return 3; }
""",
    mixed="""\
/* struct ListNode { int val; ListNode *next; }; */
using Rows = vector<vector<string>>;
tuple<long long, double, bool, string, Rows, ListNode*, TreeNode*> mixed(
    long long big, double ratio, bool flag, const string& text, Rows rows, ListNode* head,
    TreeNode* root
) {
    reverse(rows.begin(), rows.end());
    return {big + 1, ratio / 3, !flag, text + "!", rows, head, root};
}
""",
    in_place="""\
#include <vector>
#include <algorithm>
class Solution {
public:
    void rotate(std::vector<int>& nums) {
        std::rotate(nums.rbegin(), nums.rbegin() + 1, nums.rend());
    }
};
""",
    broken="class Solution {\npublic:\n    int twoSum(int a, int b) { return nope; }\n};",
    broken_says="main.cpp:3:39: error: ",
    hostile="""\
#include <unistd.h>
vector<int> twoSum(vector<int> nums, int target) {
    const char record[] = "{\\"ok\\":true,\\"value\\":[0,1]}";
    if (target == 1) { write(3, record, sizeof record - 1); }
    if (target == 2) { close(3); }
    if (target == 3) { for (int fd = 3; fd < 64; fd++) close(fd); }
    vector<char> much(1 << 20, '[');
    if (target == 4) for (int i = 0; i < 100; i++) write(3, much.data(), much.size());
    if (target == 5) { write(3, record, sizeof record - 1); _exit(0); }
    return {0, 1};
}
""",
)

JAVASCRIPT = Answers(
    two_sum="""\
/**
 * @param {number[]} nums
 * @param {number} target
 * @return {number[]}
 */
var twoSum = function(nums, target) {
    console.log("looking");
    const at = new Map();
    for (let i = 0; i < nums.length; i++) {
        if (at.has(target - nums[i])) return [at.get(target - nums[i]), i];
        at.set(nums[i], i);
    }
    throw new Error("no pair");
};
if (require.main === module) process.exit(3);
""",
    mixed="""\
/**
 * function ListNode(val, next) {}
 * @param {ListNode} first
 * @param {TreeNode} top
 */
const mixed = (big, ratio, flag, text, rows, first, top) =>
    [BigInt(big) + 1n, ratio / 3, !flag, text + "!", rows.reverse(), first, top];
""",
    in_place="export default function rotate(nums) { nums.unshift(nums.pop()); }\n",
    broken="function twoSum(nums, target) {\n  const x = 1;\n  const = 2;\n}",
    broken_says="main.js:3\n",
    hostile="""\
function twoSum(nums, target) {
    const fs = require('fs'), record = '{"ok":true,"value":[0,1]}';
    if (target === 1) fs.writeSync(3, record);
    if (target === 2) fs.closeSync(3);
    if (target === 5) { fs.writeSync(3, record); process.exit(0); }
    return [0, 1];
}
""",
)

TYPESCRIPT = Answers(
    two_sum="""\
class Solution {
    twoSum(nums: number[], target: number): number[] {
        console.log("looking");
        const at: Map<number, number> = new Map();
        for (let i = 0; i < nums.length; i++) {
            const other = at.get(target - nums[i]);
            if (other !== undefined) return [other, i];
            at.set(nums[i], i);
        }
        throw new Error("no pair");
    }
}
""",
    mixed="""\
export function mixed(big: bigint, ratio: number, flag: boolean, text: string, rows: string[][],
        first: ListNode | null, top: TreeNode | null): any[] {
    return [BigInt(big) + BigInt(1), ratio / 3, !flag, text + "!", rows.reverse(), first, top];
}
""",
    in_place="const rotate = (nums: number[]): void => { nums.unshift(nums.pop()!); };\n",
    broken="function twoSum(nums: number[]) {\n  const x = 1;\n  const = 2;\n}",
    broken_says="main.ts(3,9): error",
)

JAVA = Answers(
    two_sum="""\
class Solution {
    public int[] twoSum(int[] nums, int target) {
        System.out.println("looking");
        Map<Integer, Integer> at = new HashMap<>();
        for (int i = 0; i < nums.length; i++) {
            if (at.containsKey(target - nums[i])) return new int[] {at.get(target - nums[i]), i};
            at.put(nums[i], i);
        }
        throw new IllegalArgumentException("no pair");
    }
    private int[] twoSum(List<Integer> nums, int from, int target) { return null; }
    public static void main(String[] args) { System.exit(3); }
}
""",
    mixed="""\
package a.b;
import java.util.List;
/* class ListNode { int val; ListNode next; } */
public class Main {
    static List<Object> mixed(long big, double ratio, boolean flag, String text,
            List<List<Character>> rows, ListNode head, TreeNode root) {
        java.util.Collections.reverse(rows);
        Object none = new int[0];
        return java.util.Arrays.asList(big + 1, ratio / 3, !flag, text + "!", rows,
            head == null ? none : head, root == null ? none : root);
    }
}
""",
    in_place="""\
public class Solution {
    public void rotate(int[] nums) {
        int last = nums[nums.length - 1];
        System.arraycopy(nums, 0, nums, 1, nums.length - 1);
        nums[0] = last;
    }
}
""",
    broken="class Solution {\n    int[] twoSum(int[] a, int b) {\n        return nope;\n    }\n}",
    broken_says="Main.java:3: error: cannot find symbol",
)

GO = Answers(
    two_sum="""\
func twoSum(nums []int, target int) []int {
	fmt.Println("looking")
	at := map[int]int{}
	for i, n := range nums {
		if j, has := at[target-n]; has {
			return []int{j, i}
		}
		at[n] = i
	}
	panic("no pair")
}

func main() { fmt.Println("main") }
""",
    mixed="""\
package solution // not main

import "errors"

/* type ListNode struct { Val int; Next *ListNode } */
type Rows [][]string

func mixed(big int64, ratio float64, flag bool, text string, rows Rows, head *ListNode,
	root *TreeNode) (int64, float64, bool, string, Rows, *ListNode, *TreeNode, error) {
	if text == "error" {
		return 0, 0, false, "", nil, nil, nil, errors.New(strings.ToUpper(text))
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return big + 1, ratio / 3, !flag, text + "!", rows, head, root, nil
}
""",
    in_place="""\
package main

func rotate(nums []int) {
	last := nums[len(nums)-1]
	copy(nums[1:], nums)
	nums[0] = last
}
""",
    broken="package main\n\nfunc twoSum(a, b int) int { return nope }",
    broken_says="main.go:3:36: undefined: nope",
)

RUST = Answers(
    two_sum="""\
impl Solution {
    pub fn two_sum(nums: Vec<i32>, target: i32) -> Vec<i32> {
        println!("looking");
        let mut at: HashMap<i32, i32> = HashMap::new();
        for (i, &n) in nums.iter().enumerate() {
            if let Some(&j) = at.get(&(target - n)) {
                return vec![j, i as i32];
            }
            at.insert(n, i as i32);
        }
        panic!("no pair");
    }
}

fn main() {
    std::process::exit(3);
}
""",
    mixed="""\
use std::cell::RefCell;
use std::rc::Rc;

// pub struct ListNode { pub val: i32, pub next: Option<Box<ListNode>> }
type Rows = Vec<Vec<char>>;
type Tree = Option<Rc<RefCell<TreeNode>>>;

fn mixed<'a>(big: i64, ratio: f64, flag: bool, text: &'a str, mut rows: Rows,
    head: Option<Box<ListNode>>, root: Tree,
) -> (i64, f64, bool, String, Rows, Option<Box<ListNode>>, Tree) {
    rows.reverse();
    (big + 1, ratio / 3.0, !flag, format!("{}!", text), rows, head, root)
}
""",
    in_place="""\
struct Solution;
impl Solution {
    pub fn rotate(&self, nums: &mut Vec<i32>) {
        nums.rotate_right(1);
    }
}
""",
    broken="impl Solution {\n    pub fn two_sum(a: i32, b: i32) -> i32 {\n        nope\n    }\n}",
    broken_says="--> main.rs:3:9",
)

ANSWERS = {
    "cpp": CPP,
    "java": JAVA,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "go": GO,
    "rust": RUST,
}
