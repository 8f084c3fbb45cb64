import { type Editor, Extension } from '@tiptap/core'
import { Fragment, type Node, type Schema, Slice } from '@tiptap/pm/model'
import { Plugin } from '@tiptap/pm/state'
import { splitVariables } from '../document/variables.ts'
import { cleanHtml } from './clean-html.ts'

/** Stores pictures, and returns their addresses. Reports its own errors. */
export type UploadImages = (files: File[]) => Promise<{ url: string; name: string }[]>

const imagesIn = (data: DataTransfer | null) => [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'))

/** Inserts pictures once they are stored. */
export async function insertImages(editor: Editor, files: File[], upload: UploadImages, at?: number) {
  const stored = await upload(files)
  if (editor.isDestroyed || stored.length === 0) return
  const images = stored.map(({ url, name }) => ({ type: 'image', attrs: { src: url, alt: altOf(name) } }))
  if (at === undefined) editor.chain().focus().insertContent(images).run()
  else editor.chain().focus().insertContentAt(Math.min(at, editor.state.doc.content.size), images).run()
}

/** `team-photo.png` → `team photo`; names that a camera or the clipboard gave say nothing. */
export const altOf = (name: string) => {
  const words = name
    .replace(/\.[^.]+$/, '')
    .replaceAll(/[-_]+/g, ' ')
    .trim()
  return /^(?:image|img|dsc|screenshot|pasted)?[\s\d.:]*$/i.test(words) ? '' : words
}

/** Expressions in pasted text become chips. */
export function withChips(fragment: Fragment, schema: Schema): Fragment {
  const nodes: Node[] = []
  fragment.forEach((node) => {
    if (!node.isText) nodes.push(node.isLeaf ? node : node.copy(withChips(node.content, schema)))
    else
      for (const part of splitVariables(node.text!))
        nodes.push(typeof part === 'string' ? schema.text(part, node.marks) : schema.nodes.variable!.create(part, null, node.marks))
  })
  return Fragment.from(nodes)
}

/** Pasting and dropping: foreign HTML is cleaned, pictures are uploaded. */
export const CanvasPaste = Extension.create<{ upload: UploadImages }>({
  name: 'canvasPaste',
  addOptions: () => ({ upload: async () => [] }),
  addProseMirrorPlugins() {
    const { editor, options } = this
    return [
      new Plugin({
        props: {
          transformPastedHTML: cleanHtml,
          transformPasted: (slice) => new Slice(withChips(slice.content, editor.schema), slice.openStart, slice.openEnd),
          handlePaste(_, event) {
            const images = imagesIn(event.clipboardData)
            // Documents put a picture of the text beside the text.
            if (images.length === 0 || event.clipboardData?.getData('text/html')) return false
            void insertImages(editor, images, options.upload)
            return true
          },
          handleDrop(view, event) {
            const images = imagesIn(event.dataTransfer)
            if (images.length === 0) return false
            event.preventDefault()
            const place = view.posAtCoords({ left: event.clientX, top: event.clientY })
            void insertImages(editor, images, options.upload, place?.pos)
            return true
          },
        },
      }),
    ]
  },
})
