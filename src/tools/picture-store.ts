/** Pictures kept for `image_id` (tools.md, screenshot). */
export interface PictureStore {
  get(): Promise<Blob | null>;
}
