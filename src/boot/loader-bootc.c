/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Images for bootc: a file in /usr/lib/bootc/kargs.d, from which bootc takes arguments when the image is
 * installed and at each upgrade. Written while the image is made; on a system that runs from it, /usr is the
 * image's. */

#include "basic/fs.h"
#include "boot/loader-internal.h"

#define KARGS_DIR "/usr/lib/bootc/kargs.d"
#define OUR_FILE "90-hugepages-setup.toml"
#define OUR_PATH KARGS_DIR "/" OUR_FILE
#define FIRST_LINE "# Written by \"hugepagesctl cmdline --install\".\n"

static bool bootc_detect(const LoaderContext *c) {
        return (root_exists(c->root, "/usr/lib/bootc") || root_exists(c->root, "/usr/bin/bootc")) &&
               (root_exists(c->root, "/ostree") || root_exists(c->root, "/sysroot/ostree"));
}

/* The strings of kargs = [ … ]: what bootc's own files have of TOML. */
static int add_kargs(const char *text, char **words) {
        const char *p = text;

        while (p && !startswith(p, "kargs"))
                p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
        p = p ? strchr(p, '[') : NULL;
        while (p && *p && *p != ']') {
                p++;
                if (*p == '#')
                        p += strcspn(p, "\n");
                else if (*p == '"' || *p == '\'') {
                        size_t n = strcspn(p + 1, *p == '"' ? "\"" : "'");

                        if (append_word(words, p + 1, n) < 0)
                                return -ENOMEM;
                        p += n + 1;
                }
        }
        return 0;
}

static int read_file(const LoaderContext *c, const char *name, LoaderArguments *a) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        bool ours;
        int r;

        if (asprintf(&path, KARGS_DIR "/%s", name) < 0)
                return -ENOMEM;
        r = root_read_text(c->root, path, CMDLINE_MAX, &text);
        if (r < 0)
                return loader_fail(c, r, path, "cannot be read");
        ours = streq(name, OUR_FILE) && startswith(text, FIRST_LINE);
        return add_kargs(text, ours ? &a->ours : &a->others);
}

static int bootc_read(const LoaderContext *c, LoaderArguments *ret) {
        LoaderArguments a = { .ours = strdup(""), .others = strdup(""), .others_path = strdup(KARGS_DIR) };
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        int r = a.ours && a.others ? root_opendir(c->root, KARGS_DIR, &d) : -ENOMEM;

        while (r >= 0 && (de = readdir(d)))
                if (*de->d_name != '.' && endswith(de->d_name, ".toml"))
                        r = read_file(c, de->d_name, &a);
        if (r < 0 && r != -ENOENT) {
                loader_arguments_done(&a);
                return r;
        }
        a.other_bytes = strlen(a.others); /* what is installed with the image is not known here */
        *ret = a;
        return 0;
}

static int format_file(const LoaderContext *c, const char *arguments, char **ret) {
        _cleanup_fclose_ FILE *f = NULL;
        const char *start, *separator = "";
        size_t size;

        f = open_memstream(ret, &size);
        if (!f)
                return -ENOMEM;
        fputs(FIRST_LINE, f);
        if (loader_makes_directory(c, OUR_PATH))
                fputs(DIRECTORY_LINE, f);
        fputs("kargs = [", f);
        for (size_t n; (n = next_word(&arguments, &start)) > 0; separator = ", ")
                fprintf(f, "%s\"%.*s\"", separator, (int) n, start);
        fputs("]\n", f);
        return fflush(f) != 0 ? -ENOMEM : 0;
}

/* new is NULL for no file. */
static int change(const LoaderContext *c, const char *new) {
        _cleanup_close_ int lock = -1;
        _cleanup_free_ char *text = NULL;
        int r = root_read_text(c->root, OUR_PATH, CMDLINE_MAX, &text);

        if (r < 0 && r != -ENOENT)
                return loader_fail(c, r, OUR_PATH, "cannot be read");
        if (streq_ptr(text, new))
                return 0;
        r = loader_check_ours(c, OUR_PATH, FIRST_LINE);
        if (r < 0)
                return r;
        if (loader_may_run(c) && root_exists(c->root, "/run/ostree-booted"))
                return loader_fail(c, -EROFS, OUR_PATH,
                                   "belongs to the image that this system runs from: run "
                                   "\"hugepagesctl cmdline --install\" where the image is made");
        lock = loader_lock(c);
        if (lock < 0)
                return lock;
        r = new ? file_replace(c->root, OUR_PATH, new, strlen(new)) : loader_remove_ours(c, OUR_PATH);
        return r < 0 ? loader_fail(c, r, OUR_PATH, "cannot be changed") : 1;
}

static int bootc_install(const LoaderContext *c, const char *arguments) {
        _cleanup_free_ char *new = NULL;
        int r;

        if (strpbrk(arguments, "\"\\"))
                return -EINVAL;
        r = format_file(c, arguments, &new);
        return r < 0 ? r : change(c, new);
}

static int bootc_remove(const LoaderContext *c) {
        return change(c, NULL);
}

const Loader loader_bootc = {
        .name = "bootc",
        .where = OUR_PATH,
        .sought = "/usr/bin/bootc or /usr/lib/bootc, with /ostree or /sysroot/ostree",
        .for_images = true,
        .detect = bootc_detect,
        .read = bootc_read,
        .install = bootc_install,
        .remove = bootc_remove,
};
