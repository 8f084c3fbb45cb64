import type { useSharedApp } from '../support/app.ts'
import { newProject, type PlainProject } from '../support/project.ts'

type Sterna = ReturnType<typeof useSharedApp>
type Template = { id: string; name: string; subject: string; body: string; type: string; createdAt: string; updatedAt: string }

export const WELCOME = {
  name: 'Welcome',
  subject: 'Hi {{ first name ?? "you" }}',
  body: '<p>Hi {{ first name }}</p>',
  type: 'TRANSACTIONAL',
}

/** A project with requests about its templates. */
export const newTemplateProject = (sterna: Sterna) => newProject(sterna).with(templates)

/** Requests about templates. */
function templates({ call }: PlainProject) {
  return {
    add: async (more: object = {}): Promise<Template> => (await call('POST', '/templates', { ...WELCOME, ...more })).body,
    names: async (query = ''): Promise<string[]> => (await call('GET', `/templates${query}`)).body.data.map(({ name }: Template) => name),
    lint: async (content: object): Promise<[string, string, number?][]> =>
      (await call('POST', '/templates/lint', { subject: 'x', ...content })).body.issues.map(
        ({ code, severity, line }: { code: string; severity: string; line?: number }) => [code, severity, ...(line ? [line] : [])],
      ),
  }
}
