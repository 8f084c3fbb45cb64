import { useQuery } from '@tanstack/react-query'
import { lintQuery } from '../data/templates.ts'
import { designErrors } from '../design/document/design-errors.ts'
import { useProject } from '../projects/current.ts'
import { useDebouncedValue } from '../ui/form/use-debounced-value.ts'
import { fieldIssues } from '../ui/notice/explain.ts'
import type { CodeIssue } from './code-editor.tsx'
import { type ContentValues, contentOf } from './values/content-values.ts'

const LINT_AFTER_MS = 500

/** Issues that the server finds in the content; undefined until its first answer. A design that it refuses has its errors at the blocks. */
export function useLint({ subject, previewText, body, design, type }: ContentValues): CodeIssue[] | undefined {
  const project = useProject()
  const linted = { subject, ...(previewText && { previewText }), ...contentOf({ body, design }), type }
  const settled = useDebouncedValue(JSON.stringify(linted), LINT_AFTER_MS)
  const { data, error } = useQuery(lintQuery(project.id, settled))
  const refused = design && error ? designErrors(design, fieldIssues(error)) : []
  return refused.length > 0 ? refused : data
}
