import { useQuery } from '@tanstack/react-query'
import { lintQuery } from '../data/templates.ts'
import { useProject } from '../projects/current.ts'
import { useDebouncedValue } from '../ui/form/use-debounced-value.ts'
import type { CodeIssue } from './code-editor.tsx'
import type { ContentValues } from './content-values.ts'

const LINT_AFTER_MS = 500
type Linted = Pick<ContentValues, 'subject' | 'body' | 'type'> & { previewText?: string }

/** What the server finds in the content. Undefined until its first answer. */
export function useLint({ subject, previewText, body, type }: ContentValues): CodeIssue[] | undefined {
  const project = useProject()
  const linted: Linted = { subject, ...(previewText && { previewText }), body, type }
  const settled = useDebouncedValue(JSON.stringify(linted), LINT_AFTER_MS)
  return useQuery(lintQuery(project.id, settled)).data
}
