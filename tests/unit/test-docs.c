/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Documents and examples against the code: hugepages.d(5) documents exactly the language that config/keys.c
 * defines, and every example that is shown or shipped is a valid drop-in. */

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "basic/fs.h"
#include "config/keys.h"

#define PAGE_MAX_SIZE (1u << 20)

/* In the order of SectionType. */
static const char *const headings[_SECTION_TYPE_MAX] = {
        ".Sh [POOL NAME] SECTIONS", ".Sh [MOUNT NAME] SECTIONS", ".Sh [SERVICE NAME] SECTIONS",
        ".Sh [THP] SECTION",        ".Sh [THP SIZE] SECTIONS",   ".Sh [KHUGEPAGED] SECTION",
        ".Sh [SYSTEM] SECTION",
};

static char directory[] = "/tmp/test-docs-XXXXXX"; /* an empty root, and room for one drop-in */
static char *drop_in;

static char *source_path(const char *path) {
        const char *root = getenv("SOURCE_ROOT");
        char *p;

        assert_non_null(root);
        assert_true(asprintf(&p, "%s/%s", root, path) > 0);
        return p;
}

static char *read_source(const char *path) {
        _cleanup_free_ char *p = source_path(path);
        char *text;

        assert_int_equal(root_read_file(NULL, p, PAGE_MAX_SIZE, &text, NULL), 0);
        return text;
}

/* The text from the line begin to the next line that starts with end, without both; NULL where there is
 * none. *next is where to go on. */
static char *text_between(const char *text, const char *begin, const char *end, const char **next) {
        const char *a, *b;

        for (a = text; (a = strstr(a, begin)); a++)
                if ((a == text || a[-1] == '\n') && a[strlen(begin)] == '\n')
                        break;
        if (!a)
                return NULL;
        a += strlen(begin) + 1;
        for (b = a; (b = strstr(b, end)); b++)
                if (b[-1] == '\n')
                        break;
        assert_non_null(b);
        if (next)
                *next = b;
        return strndup(a, (size_t) (b - a));
}

/* Whether a list item of the section is this key. */
static bool documents_key(const char *section, const char *key) {
        char item[64];

        snprintf(item, sizeof(item), ".It Va %s=\n", key);
        return strstr(section, item) != NULL;
}

static void test_every_key_is_documented(void **state) {
        _cleanup_free_ char *page = read_source("man/hugepages.d.5");

        for (size_t t = 0; t < _SECTION_TYPE_MAX; t++) {
                const SectionInfo *info = &section_table[t];
                _cleanup_free_ char *section = text_between(page, headings[t], ".Sh ", NULL);

                if (!section)
                        fail_msg("hugepages.d(5) has no \"%s\"", headings[t]);
                assert_true(info->n_keys > 0);
                for (size_t k = 0; k < info->n_keys; k++)
                        if (!documents_key(section, info->keys[k].name))
                                fail_msg("hugepages.d(5) does not document %s= of [%s]", info->keys[k].name,
                                         info->name);
        }
}

static void test_every_documented_key_exists(void **state) {
        _cleanup_free_ char *page = read_source("man/hugepages.d.5");

        for (size_t t = 0; t < _SECTION_TYPE_MAX; t++) {
                _cleanup_free_ char *section = text_between(page, headings[t], ".Sh ", NULL);
                size_t n = 0;

                assert_non_null(section);
                for (const char *p = section; (p = strstr(p, "\n.It Va ")); n++) {
                        char key[64] = "";

                        p += strlen("\n.It Va ");
                        assert_int_equal(sscanf(p, "%63[^=\n]", key), 1);
                        if (!section_find_key((SectionType) t, key))
                                fail_msg("[%s] has no %s=", section_table[t].name, key);
                        p--; /* at the end of what may begin the next item too */
                }
                assert_int_equal(n, section_table[t].n_keys);
        }
}

static void fail_with(const char *what, const Diagnostics *d) {
        for (size_t i = 0; i < d->n; i++) {
                _cleanup_free_ char *line = diag_format(&d->items[i]);

                print_error("%s: %s\n", what, line);
        }
        fail_msg("%s has %zu diagnostics", what, d->n_errors + d->n_warnings);
}

static void assert_valid(const char *what, char *const *files) {
        _cleanup_(config_freep) Config *c = NULL;
        Diagnostics d = {};

        assert_int_equal(config_load_with(directory, files, &c, &d), 0);
        if (d.n_errors > 0 || d.n_warnings > 0)
                fail_with(what, &d);
        diag_done(&d);
}

static void assert_valid_text(const char *what, const char *text) {
        _cleanup_fclose_ FILE *f = fopen(drop_in, "we");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fflush(f), 0);
        assert_valid(what, (char *[]){ drop_in, NULL });
}

static void test_faults_are_seen(void **state) {
        _cleanup_(config_freep) Config *c = NULL;
        Diagnostics d = {};
        _cleanup_fclose_ FILE *f = fopen(drop_in, "we");

        assert_non_null(f);
        assert_true(fputs("[Pool db]\nSize=8Q\n", f) >= 0);
        assert_int_equal(fflush(f), 0);
        assert_int_equal(config_load_with(directory, (char *[]){ drop_in, NULL }, &c, &d), 0);
        assert_int_equal(d.n_errors, 1);
        diag_done(&d);
}

static void test_examples_of_the_page_are_valid(void **state) {
        _cleanup_free_ char *page = read_source("man/hugepages.d.5");
        _cleanup_free_ char *examples = text_between(page, ".Sh EXAMPLES", ".Sh ", NULL);
        const char *next = examples;
        size_t n = 0;

        assert_non_null(examples);
        for (;; n++) {
                _cleanup_free_ char *text = text_between(next, ".Bd -literal", ".Ed", &next);

                if (!text)
                        break;
                assert_valid_text("an example of hugepages.d(5)", text);
        }
        assert_true(n >= 6);
}

static void test_example_of_the_readme_is_valid(void **state) {
        _cleanup_free_ char *readme = read_source("README.md");
        _cleanup_free_ char *text = text_between(readme, "```ini", "```", NULL);

        assert_non_null(text);
        assert_valid_text("the example of README.md", text);
}

static int is_example(const struct dirent *e) {
        return endswith(e->d_name, ".conf") != NULL;
}

/* The files of conf.d, NULL-terminated, by name. */
static char **example_files(void) {
        _cleanup_free_ char *folder = source_path("conf.d");
        struct dirent **entries;
        int n = scandir(folder, &entries, is_example, alphasort);
        char **files;

        assert_true(n > 0);
        files = calloc((size_t) n + 1, sizeof(char *));
        assert_non_null(files);
        for (int i = 0; i < n; i++) {
                assert_true(asprintf(&files[i], "%s/%s", folder, entries[i]->d_name) > 0);
                free(entries[i]);
        }
        free(entries);
        return files;
}

static void free_files(char **files) {
        for (char **f = files; *f; f++)
                free(*f);
        free(files);
}

static void test_each_shipped_example_is_valid(void **state) {
        char **files = example_files();

        for (char **f = files; *f; f++)
                assert_valid(*f, (char *[]){ *f, NULL });
        free_files(files);
}

static void test_shipped_examples_are_valid_together(void **state) {
        char **files = example_files();

        assert_valid("conf.d", files);
        free_files(files);
}

static void test_every_shipped_example_is_installed(void **state) {
        _cleanup_free_ char *build = read_source("conf.d/meson.build");
        char **files = example_files();

        for (char **f = files; *f; f++) {
                _cleanup_free_ char *quoted = NULL;

                assert_true(asprintf(&quoted, "'%s'", strrchr(*f, '/') + 1) > 0);
                if (!strstr(build, quoted))
                        fail_msg("conf.d/meson.build does not install %s", quoted);
        }
        free_files(files);
}

static int setup(void **state) {
        if (!mkdtemp(directory))
                return -1;
        return asprintf(&drop_in, "%s/50-example.conf", directory) < 0 ? -1 : 0;
}

static int teardown(void **state) {
        (void) unlink(drop_in);
        free(drop_in);
        return rmdir(directory);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_key_is_documented),
                cmocka_unit_test(test_every_documented_key_exists),
                cmocka_unit_test(test_faults_are_seen),
                cmocka_unit_test(test_examples_of_the_page_are_valid),
                cmocka_unit_test(test_example_of_the_readme_is_valid),
                cmocka_unit_test(test_each_shipped_example_is_valid),
                cmocka_unit_test(test_shipped_examples_are_valid_together),
                cmocka_unit_test(test_every_shipped_example_is_installed),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
