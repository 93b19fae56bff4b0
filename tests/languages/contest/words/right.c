#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 32
static struct entry { char word[LONGEST]; int count; } entries[10000];
static int size;

static void add(const char *word) {
    for (int i = 0; i < size; i++)
        if (strcmp(entries[i].word, word) == 0) {
            entries[i].count++;
            return;
        }
    strcpy(entries[size].word, word);
    entries[size++].count = 1;
}

static int order(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    if (one->count != other->count) return other->count - one->count;
    return strcmp(one->word, other->word);
}

int main(void) {
    char word[LONGEST];
    int length = 0, c;
    do {
        c = getchar();
        if (c != EOF && isalpha(c)) {
            word[length++] = tolower(c);
        } else if (length) {
            word[length] = 0;
            add(word);
            length = 0;
        }
    } while (c != EOF);
    qsort(entries, size, sizeof *entries, order);
    if (size == 0) puts("none");
    for (int i = 0; i < size && i < 5; i++) printf("%s %d\n", entries[i].word, entries[i].count);
}
