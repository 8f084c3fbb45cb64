import { apiOf } from '../api.ts'
import { explain } from '../ui/explain.ts'
import { saveFile } from '../ui/save-file.ts'
import { toast } from '../ui/toast.tsx'

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

export const downloadExport = ({ id, projectId }: Job) => download(apiOf(projectId).contacts.exportFile(id), 'contacts.csv')

export const downloadCampaignExport = ({ id, projectId }: Job) => download(apiOf(projectId).campaigns.exportFile(id), 'recipients.csv')
