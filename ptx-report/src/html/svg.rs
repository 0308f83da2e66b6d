//! Writing inline SVG; colours come from the page's style sheet.

use std::fmt::{Display, Write};

/// Text that is safe inside elements and attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

/// A coordinate with as many digits as a screen shows.
pub(super) fn at(x: f64) -> impl Display {
    let rounded = (x * 10.0).round() / 10.0;
    // `-0` is no number that a reader expects.
    if rounded == 0.0 { 0.0 } else { rounded }
}

/// A picture under construction.
pub(super) struct Svg {
    out: String,
}

impl Svg {
    /// An empty picture; `label` is what a screen reader says.
    pub(super) fn new(width: f64, height: f64, label: &str) -> Self {
        let out = format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
            at(width),
            at(height),
            escape(label)
        );
        Self { out }
    }

    pub(super) fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        let _ = write!(
            self.out,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            at(x1),
            at(y1),
            at(x2),
            at(y2)
        );
    }

    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, w: f64, h: f64) {
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            at(x),
            at(y),
            at(w.max(0.0)),
            at(h.max(0.0))
        );
    }

    /// A rectangle with a tooltip.
    pub(super) fn rect_titled(&mut self, class: &str, [x, y, w, h]: [f64; 4], title: &str) {
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
            at(x),
            at(y),
            at(w.max(0.0)),
            at(h.max(0.0)),
            escape(title)
        );
    }

    pub(super) fn circle(&mut self, class: &str, x: f64, y: f64, r: f64) {
        let _ = write!(
            self.out,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
            at(x),
            at(y),
            at(r)
        );
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
            at(x),
            at(y),
            escape(text)
        );
    }

    /// Text that runs along a line from lower left to upper right.
    pub(super) fn text_turned(&mut self, class: &str, x: f64, y: f64, degrees: f64, text: &str) {
        let _ = write!(
            self.out,
            "<text class=\"{class}\" transform=\"translate({} {}) rotate({})\">{}</text>",
            at(x),
            at(y),
            at(degrees),
            escape(text)
        );
    }

    pub(super) fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// A path whose strokes are as wide as a bar is high.
    pub(super) fn strokes(&mut self, class: &str, width: f64, d: &str) {
        let _ =
            write!(self.out, "<path class=\"{class}\" stroke-width=\"{}\" d=\"{d}\"/>", at(width));
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// One whose text would be too small on a telephone: there it keeps its size and is moved sideways.
    pub(super) fn finish_wide(self) -> String {
        format!("<div class=\"pan\">{}</div>", self.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_from_text() {
        assert_eq!(escape("a<b>&\"'\u{7}"), "a&lt;b&gt;&amp;&quot;&#39;");
        assert_eq!(at(-0.01).to_string(), "0");
        assert_eq!(at(1.26).to_string(), "1.3");
    }
}
