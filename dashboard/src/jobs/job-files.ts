import { apiOf } from '../client/api.ts'
import { toast } from '../ui/dialog/toast.tsx'
import { explain } from '../ui/notice/explain.ts'
import { saveFile } from '../ui/table/save-file.ts'

type Job = { id: string; projectId: string }
type FileOfJob = ReturnType<ReturnType<typeof apiOf>['contacts']['exportFile']>

async function download(answer: FileOfJob, name: string) {
  try {
    const file = await answer
    saveFile(await file.blob(), file.filename ?? name)
  } catch (error) {
    toast(explain(error), { tone: 'danger' })
  }
}

export const downloadFailedRows = ({ id, projectId }: Job) => download(apiOf(projectId).contacts.importErrors(id), 'failed-rows.csv')

/** Kinds of jobs whose result is a file. */
const EXPORTS: Record<string, { resource: 'contacts' | 'campaigns' | 'emails' | 'suppressions'; name: string }> = {
  export: { resource: 'contacts', name: 'contacts.csv' },
  'campaign-export': { resource: 'campaigns', name: 'recipients.csv' },
  'email-export': { resource: 'emails', name: 'emails.csv' },
  'suppression-export': { resource: 'suppressions', name: 'suppressions.csv' },
}

export const hasFile = (type: string) => Object.hasOwn(EXPORTS, type)

export function downloadExport({ id, projectId, type }: Job & { type: string }) {
  const { resource, name } = EXPORTS[type]!
  return download(apiOf(projectId)[resource].exportFile(id), name)
}
