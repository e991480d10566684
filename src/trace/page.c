/* SPDX-License-Identifier: Apache-2.0
 *
 * What all pictures begin with: size, style sheet, ground, title.
 *
 * Invariant: every colour of a picture is a class of its style sheet, which has a second set for
 * readers whose colour scheme is dark.
 */
#include "trace/writer.h"

/* Of a group, as fill (.s0) and as stroke (.t0); those of the palette that are too dark on a dark
 * ground have others there. */
static void put_groups(struct sy_buffer *buffer, bool dark) {
    for (uint32_t group = 0; group <= SY_TRACE_COLOURS; group++) {
        const char *colour = sy_colour_of(group, dark);
        if (!dark || colour != sy_colour_of(group, false)) {
            sy_buffer_printf(buffer, ".s%u{fill:%s}.t%u{stroke:%s}", group, colour, group, colour);
        }
    }
}

static void put_style_sheet(struct sy_buffer *buffer, const struct sy_picture_head *page) {
    sy_buffer_printf(buffer,
                     "<style>text{font-family:\"DejaVu Sans\",Verdana,Helvetica,Arial,sans-serif;"
                     "fill:#222;font-size:11px}.h{font-size:18px;font-weight:bold}.b{font-weight:"
                     "bold}.e{text-anchor:end}.m{text-anchor:middle}.q{fill:#666}.paper{fill:#fff}"
                     ".g{stroke:#dfe2e7;fill:none}.a{stroke:#888;fill:none}");
    put_groups(buffer, false);
    sy_buffer_printf(buffer,
                     "%s\n@media (prefers-color-scheme:dark){text{fill:#e6e6e6}"
                     ".q{fill:#a0a4ab}.paper{fill:#16181d}.g{stroke:#2c3038}"
                     ".a{stroke:#787d86}",
                     page->rules);
    put_groups(buffer, true);
    sy_buffer_printf(buffer, "%s}</style>\n", page->dark_rules);
}

void sy_put_picture_head(struct sy_buffer *buffer, const struct sy_picture_head *page) {
    const char *title = page->title ? page->title : "";
    sy_buffer_printf(buffer,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                     "viewBox=\"0 0 %g %g\" role=\"img\">\n<title>",
                     page->width_px, page->height_px, page->width_px, page->height_px);
    sy_put_xml_text(buffer, title, 200);
    sy_buffer_printf(buffer, "</title>\n");
    put_style_sheet(buffer, page);
    sy_buffer_printf(buffer,
                     "<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n"
                     "<text class=\"h\" x=\"%g\" y=\"30\">",
                     page->width_px, page->height_px, SY_PAGE_MARGIN_PX);
    sy_put_xml_text(buffer, title, 90);
    sy_buffer_printf(buffer, "</text>\n");
    if (page->subtitle && page->subtitle[0]) {
        sy_buffer_printf(buffer, "<text class=\"q\" x=\"%g\" y=\"49\" style=\"font-size:13px\">",
                         SY_PAGE_MARGIN_PX);
        sy_put_xml_text(buffer, page->subtitle, 150);
        sy_buffer_printf(buffer, "</text>\n");
    }
}
