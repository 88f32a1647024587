/**
 * A text with places in it where the text of a frame belongs. Frames of other sites run in other processes: each
 * document gives its own text, and the extension puts them together.
 */
import type { FramePlace } from './frame-places';

export interface Hole extends FramePlace {
  /** How deep the frame's own text is indented. */
  depth: number;
}

/** `parts` has one more entry than `holes`: they alternate. */
export interface TextWithHoles {
  parts: string[];
  holes: Hole[];
}

export class PartsWriter {
  private lines: string[] = [];
  private readonly parts: string[] = [];
  private readonly holes: Hole[] = [];

  line(text: string): void {
    this.lines.push(text);
  }

  /** Behind the line that was written last. */
  hole(hole: Hole): void {
    this.cut();
    this.holes.push(hole);
  }

  /** Every part but the first begins with a line break: the hole is at the end of a line. */
  finish(): TextWithHoles {
    this.cut();
    return { parts: this.parts, holes: this.holes };
  }

  private cut(): void {
    const text = this.lines.join('\n');
    this.parts.push(this.parts.length > 0 && this.lines.length > 0 ? `\n${text}` : text);
    this.lines = [];
  }
}
