/* SPDX-License-Identifier: Apache-2.0
 *
 * What shall run: a workload of a plug-in, a pipeline, a stream of jobs, a generator or a file.
 *
 * In: spec=. Out: a session with its driver.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <string.h>

static int load_file(struct sy_engine *engine, struct sy_error *error) {
    struct sy_graph_list list = {0};
    const char *colon = strchr(engine->request.spec, ':');
    int code = sy_graph_read_file(engine->request.spec, NULL, &list, error);
    if (code == -ENOENT && colon) {
        sy_fail(error, code, "there is no plug-in '%.*s', and no file %s",
                (int)(colon - engine->request.spec), engine->request.spec, engine->request.spec);
        sy_hint(error, "symph kernels lists the plug-ins; --kernels PATH adds one");
    } else if (code == -ENOENT) {
        sy_hint(error, "a workload of a plug-in is PLUGIN:NAME; symph kernels lists them");
    }
    if (code < 0) {
        return code;
    }
    if (list.count == 1) {
        engine->graph = list.graphs[0];
        list.count = 0;
    } else {
        code = sy_fail(error, -EINVAL, "%s contains %u graphs, but a run takes only one",
                       engine->request.spec, list.count);
        sy_hint(error, "split the file, or try them all with symph simulate");
    }
    sy_graph_list_finish(&list);
    return code;
}

static int build_graph(struct sy_engine *engine, const char *arguments, struct sy_error *error) {
    const char *spec = engine->request.spec;
    sy_engine_doing(" while it built ", spec);
    int code = engine->workload->build(arguments, &engine->graph, &engine->state, error);
    sy_engine_leave();
    if (code < 0 && !error->message[0]) {
        sy_fail(error, code, "workload %s: %s", spec, strerror(-code));
    }
    return code;
}

int sy_engine_load(struct sy_engine *engine, struct sy_error *error) {
    const char *spec = engine->request.spec, *arguments = NULL;
    int code = 0;
    if (engine->request.pipeline) {
        return sy_engine_load_pipeline(engine, error);
    }
    if (engine->request.graphs) {
        return session_open_stream(engine, error);
    }
    if (strncmp(spec, "gen:", 4) == 0) {
        code = sy_graph_generate(spec + 4, &engine->graph, error);
        return code ? code : session_open_graph(engine, error);
    }
    *error = (struct sy_error){0};
    engine->workload = sy_kernel_set_workload(engine->plugins, spec, &arguments, error);
    if (engine->workload && engine->workload->drive) {
        return session_open(engine, &session_plugin, arguments, error);
    }
    code = engine->workload    ? build_graph(engine, arguments, error)
           : error->message[0] ? -EINVAL
                               : load_file(engine, error);
    return code ? code : session_open_graph(engine, error);
}
